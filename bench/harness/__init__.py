"""The parts of bench/run, bench/startup, bench/scale and bench/instructions. Python 3 standard library only."""
