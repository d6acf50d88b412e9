// A Rust program with known sums: 500 boxes of 640 bytes and 10 vectors of 8000 bytes, all dropped but 5 boxes.
use std::hint::black_box;

#[inline(never)]
fn make_box(value: u8) -> Box<[u8; 640]> {
    black_box(Box::new([value; 640]))
}

fn main() {
    let mut sum = 0usize;
    for round in 0..500usize {
        let block = make_box((round % 251) as u8);
        sum += block[round % 640] as usize;
        if round % 100 == 0 {
            std::mem::forget(block);
        }
    }
    for round in 0..10usize {
        let numbers: Vec<u64> = black_box((0..1000).map(|n| n + round as u64).collect());
        sum += numbers.len();
    }
    println!("{sum}");
}
