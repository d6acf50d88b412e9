x /*style*/ /*facts*/ /*script*/
