//! Golden outputs and distributions of the frozen generator.
//!
//! The values were computed by an independent script from the definition (SplitMix64 mixing, Lemire's range, -ln u).
//! The published vectors of both generators are tested in their own files.

use numalab_base::rng::Rng;

fn first<const N: usize>(mut rng: Rng) -> [u64; N] {
    std::array::from_fn(|_| rng.next_u64())
}

#[test]
fn golden_streams() {
    assert_eq!(
        first(Rng::new(42)),
        [15021278609987233951, 5881210131331364753, 18149643915985481100, 12933668939759105464]
    );
    assert_eq!(
        first(Rng::stream(42, 7, 3)),
        [0x365603d4436aaa9b, 0x4388cbc48c02f265, 0x96fb7ad135463150, 0xcee6042f825caeef]
    );
    assert_eq!(first(Rng::stream(42, 7, 4)), [0xef9de067804c7b39, 0x9efdd0109a13c251]);
    assert_eq!(first(Rng::stream(42, 8, 3)), [0xe040a6abe201239a, 0x418076fdf48427ee]);
}

#[test]
fn golden_draws() {
    let mut r = Rng::stream(1, 0, 0);
    let got: [u64; 8] = std::array::from_fn(|_| r.below(1000));
    assert_eq!(got, [207, 952, 606, 800, 954, 441, 264, 26]);
    let mut r = Rng::stream(1, 0, 1);
    for want in [145.19019132914056, 531.5943381279574, 48.0597018301415, 141.70362623578944] {
        let got = r.exponential(1000.0);
        assert!((got - want).abs() < 1e-11 * want, "{got} {want}");
    }
    let mut r = Rng::stream(1, 0, 2);
    for want in [0.7600391392156776, 0.0072696499443014595, 0.8442600027922295] {
        assert_eq!(r.unit(), want);
    }
}

#[test]
fn edges_of_the_uniform_draws() {
    let mut r = Rng::new(1);
    assert_eq!(r.below(0), 0);
    assert_eq!(r.below(1), 0);
    for _ in 0..1000 {
        assert!(r.unit() < 1.0);
        let u = r.unit_positive();
        assert!(u > 0.0 && u <= 1.0);
    }
}

#[test]
fn below_is_uniform() {
    let mut r = Rng::new(3);
    let mut counts = [0f64; 7];
    let n = 70_000;
    for _ in 0..n {
        counts[r.below(7) as usize] += 1.0;
    }
    let chi2: f64 = counts.iter().map(|c| (c - 1e4) * (c - 1e4) / 1e4).sum();
    assert!(chi2 < 22.5, "chi2 {chi2} with 6 degrees of freedom (0.1 %)");
    // With a bound of 3/4 of 2^64 a modulo or a plain multiplication would be visibly biased.
    let bound = 3u64 << 62;
    let low = (0..n).filter(|_| r.below(bound) < (1 << 62)).count() as f64;
    assert!((low / f64::from(n) - 1.0 / 3.0).abs() < 0.0072, "{low}");
}

/// Mean and variance of `n` draws.
fn moments(n: u32, mut draw: impl FnMut() -> f64) -> (f64, f64) {
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..n {
        let x = draw();
        sum += x;
        squares += x * x;
    }
    let mean = sum / f64::from(n);
    (mean, squares / f64::from(n) - mean * mean)
}

#[test]
fn continuous_moments() {
    let mut r = Rng::new(11);
    let (mean, var) = moments(40_000, || r.exponential(5.0));
    assert!((mean - 5.0).abs() < 0.1 && (var - 25.0).abs() < 1.5, "{mean} {var}");
    assert_eq!(r.exponential(0.0), 0.0);
    let (mean, var) = moments(40_000, || r.normal());
    assert!(mean.abs() < 0.02 && (var - 1.0).abs() < 0.03, "{mean} {var}");
}

#[test]
fn counting_moments() {
    let mut r = Rng::new(12);
    let (mean, var) = moments(40_000, || r.geometric(0.2) as f64);
    assert!((mean - 5.0).abs() < 0.1 && (var - 20.0).abs() < 1.2, "{mean} {var}");
    assert_eq!(r.geometric(1.0), 1);
    assert_eq!(r.geometric(0.0), u64::MAX);
    // Small and large means take different branches; both must have mean n p and variance n p (1 - p).
    for (n, p) in [(40u64, 0.1), (40, 0.9), (1000, 0.02), (5000, 0.3), (5000, 0.7)] {
        let (want_mean, want_var) = (n as f64 * p, n as f64 * p * (1.0 - p));
        let (mean, var) = moments(20_000, || r.binomial(n, p) as f64);
        assert!((mean - want_mean).abs() < 5.0 * (want_var / 2e4).sqrt(), "{n} {p}: {mean}");
        assert!((var / want_var - 1.0).abs() < 0.06, "{n} {p}: {var}");
    }
    assert_eq!(r.binomial(10, 0.0), 0);
    assert_eq!(r.binomial(10, 1.0), 10);
    assert_eq!(r.binomial(0, 0.5), 0);
}

/// This figure changes with any difference in the last bit of any draw, between platforms, optimisation levels or
/// versions of this code. It pins the code to itself; the other tests check the values.
#[test]
fn every_bit_is_frozen() {
    let mut r = Rng::stream(2024, 1, 2);
    let mut sum = 0u64;
    for i in 0..20_000u64 {
        let bits = match i % 5 {
            0 => r.exponential(3.0).to_bits(),
            1 => r.normal().to_bits(),
            2 => r.below(100_000),
            3 => r.binomial(i, 0.01),
            _ => r.geometric(0.001),
        };
        sum = sum.rotate_left(7) ^ bits;
    }
    assert_eq!(format!("{sum:016x}"), "898e854c271079bf");
}
