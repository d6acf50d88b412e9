// A D program with known sums: 500 C blocks of 640 bytes, 5 of them never freed, and some garbage-collected work beside.
import core.stdc.stdio : printf;
import core.stdc.stdlib : free, malloc;

pragma(inline, false) void* makeBlock(size_t size)
{
    return malloc(size);
}

void main()
{
    size_t sum;
    foreach (round; 0 .. 500)
    {
        auto block = cast(ubyte*) makeBlock(640);
        block[round] = cast(ubyte) round;
        sum += block[round];
        if (round % 100 != 0)
            free(block);
    }
    foreach (round; 0 .. 10)
    {
        auto numbers = new ulong[1000];
        numbers[round] = round;
        sum += numbers.length;
    }
    printf("%zu\n", sum);
}
