// A Go program with C in it: its runtime looks for the auxiliary vector behind the environment, and its C blocks are recorded.
package main

/*
#include <stdlib.h>
*/
import "C"

import "fmt"

func main() {
	for i := 0; i < 100; i++ {
		C.free(C.malloc(777))
	}
	fmt.Println("100 blocks")
}
