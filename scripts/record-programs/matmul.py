"""numpy: the product of two matrices of N x N numbers (700 if not given), three times."""

import sys

import numpy

n = int(sys.argv[1]) if len(sys.argv) > 1 else 700
a = numpy.random.default_rng(1).random((n, n))
b = numpy.random.default_rng(2).random((n, n))
for _ in range(3):
    c = a @ b
print(float(c.sum()))
