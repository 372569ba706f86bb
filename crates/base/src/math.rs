//! Logarithms and exponentials with the same bits on every platform and at every optimisation level.
//!
//! The mathematics libraries of two platforms may differ in the last bit, and one bit is enough to make two runs of a
//! plan differ. This module uses only `+ - * /` and bit operations on IEEE doubles, which the standard defines
//! exactly. The error is below 4 units in the last place over the ranges that the model uses.

const LN_2: f64 = std::f64::consts::LN_2;
const SQRT_2: f64 = std::f64::consts::SQRT_2;
/// The high part of ln 2. Its low bits are zero, so that products with small integers are exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
/// ln 2 minus its high part.
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Factor that lifts a subnormal into the normal range: 2^54.
const TWO_54: f64 = 18_014_398_509_481_984.0;
const EXPONENT_BIAS: i64 = 1023;
const MANTISSA_BITS: u32 = 52;
const MANTISSA_MASK: u64 = (1 << MANTISSA_BITS) - 1;

/// `2 * atanh(s)` by its series; exact to double precision for `|s| <= 0.1716`.
fn twice_atanh(s: f64) -> f64 {
    let z = s * s;
    // Horner's method from the term 1/23, which is below 2^-58 at the end of the range.
    let mut sum = 1.0 / 23.0;
    let mut odd = 21.0;
    while odd > 0.5 {
        sum = sum * z + 1.0 / odd;
        odd -= 2.0;
    }
    2.0 * s * sum
}

/// Splits a positive finite `x` into `(m, e)` with `x = m * 2^e` and `m` in `[1/sqrt 2, sqrt 2)`.
fn split(x: f64) -> (f64, i64) {
    let (x, lifted) = if x < f64::MIN_POSITIVE { (x * TWO_54, 54) } else { (x, 0) };
    let bits = x.to_bits();
    let mut e = ((bits >> MANTISSA_BITS) as i64) - EXPONENT_BIAS - lifted;
    let mut m = f64::from_bits((bits & MANTISSA_MASK) | ((EXPONENT_BIAS as u64) << MANTISSA_BITS));
    if m >= SQRT_2 {
        m *= 0.5;
        e += 1;
    }
    (m, e)
}

/// Natural logarithm. `-inf` at 0, NaN below 0 and for NaN, `inf` at infinity.
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    let (m, e) = split(x);
    let e = e as f64;
    let tail = twice_atanh((m - 1.0) / (m + 1.0)) + e * LN_2_LOW;
    e * LN_2_HIGH + tail
}

/// Logarithm to base 2, exact for powers of two. The special values are those of [`ln`].
pub fn log2(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 || x == f64::INFINITY {
        return ln(x);
    }
    let (m, e) = split(x);
    e as f64 + twice_atanh((m - 1.0) / (m + 1.0)) / LN_2
}

/// `ln(1 + x)`, accurate for small `x`. NaN below -1, `-inf` at -1.
pub fn ln_1p(x: f64) -> f64 {
    if (-0.25..=0.4).contains(&x) {
        twice_atanh(x / (2.0 + x))
    } else {
        ln(1.0 + x)
    }
}

/// `e^x`; 0 below -745, `inf` above 709.78. NaN for NaN.
pub fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x < -745.2 {
        return 0.0;
    }
    if x > 709.79 {
        return f64::INFINITY;
    }
    let k = round_half_away(x / LN_2);
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    // Taylor series to r^14/14!; with |r| <= 0.347 the next term is below 2^-60.
    let mut sum = 1.0;
    let mut n = 14.0;
    while n > 0.5 {
        sum = sum * r / n + 1.0;
        n -= 1.0;
    }
    scale(sum, k as i64)
}

/// `x^y` for `x > 0`, as `exp(y ln x)`. The relative error grows with `|y ln x|`. The result is 0 for `x = 0` and `y >
/// 0`.
pub fn powf(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return 1.0;
    }
    exp(y * ln(x))
}

fn round_half_away(x: f64) -> f64 {
    // The cast truncates, which is exact for the magnitudes that reach this point (below 1100).
    if x < 0.0 {
        (x - 0.5) as i64 as f64
    } else {
        (x + 0.5) as i64 as f64
    }
}

/// `x * 2^k` in two exact steps (one would overflow the factor at the ends of the range).
fn scale(x: f64, k: i64) -> f64 {
    let half = k / 2;
    let power = |e: i64| f64::from_bits(((e + EXPONENT_BIAS) as u64) << MANTISSA_BITS);
    x * power(half) * power(k - half)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The functions of the platform are the reference in these tests; their error is 1 to 2 ulp.
    fn close(a: f64, b: f64) -> bool {
        a == b || (a - b).abs() <= 1e-14 * b.abs().max(1e-300)
    }

    #[test]
    fn logarithms_agree_with_the_platform() {
        let mut x = 1e-310;
        while x < 1e308 {
            assert!(close(ln(x), x.ln()), "ln {x}");
            assert!((log2(x) - x.log2()).abs() <= 1e-14 * x.log2().abs().max(1.0), "log2 {x}");
            x *= 1.37;
        }
        for i in -24..40 {
            let x = f64::from(i) / 100.0;
            assert!(close(ln_1p(x), x.ln_1p()) || x == 0.0, "ln_1p {x}");
        }
        assert!(close(ln_1p(1e-17), 1e-17));
        assert!(close(ln_1p(-1e-12), -1.000_000_000_000_5e-12));
    }

    #[test]
    fn log2_is_exact_for_powers_of_two() {
        for e in 0..63 {
            assert_eq!(log2((1u64 << e) as f64), f64::from(e));
        }
    }

    #[test]
    fn exponential_agrees_with_the_platform() {
        let mut x = -708.0;
        while x < 709.5 {
            assert!((exp(x) - x.exp()).abs() <= 1e-14 * x.exp(), "exp {x}");
            x += 0.317;
        }
        assert!(close(powf(10.0, 0.5), 10f64.sqrt()));
        assert!(close(powf(3.0, -2.0), 1.0 / 9.0));
    }

    #[test]
    fn special_values() {
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert!(ln(-1.0).is_nan() && log2(-1.0).is_nan() && exp(f64::NAN).is_nan());
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-800.0), 0.0);
        assert_eq!(exp(800.0), f64::INFINITY);
        assert_eq!(powf(0.0, 1.5), 0.0);
        assert_eq!(powf(5.0, 0.0), 1.0);
    }
}
