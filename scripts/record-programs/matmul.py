"""numpy: the product of two matrices of 700 x 700 numbers, three times."""

import numpy

a = numpy.random.default_rng(1).random((700, 700))
b = numpy.random.default_rng(2).random((700, 700))
for _ in range(3):
    c = a @ b
print(float(c.sum()))
