package plot

import "math"

// axis places numbers between two coordinates.
type axis struct {
	from, to  float64 // coordinates
	low, high float64 // the values there, or their logarithms
	log       bool
	ticks     []float64
}

func (a axis) place(v float64) float64 {
	if a.log {
		v = math.Log10(v)
	}
	return a.from + (v-a.low)/(a.high-a.low)*(a.to-a.from)
}

// linear returns an axis from zero to a round number that is not below high.
func linear(high, from, to float64) axis {
	if !(high > 0) {
		high = 1
	}
	step := roundUp(high / 5)
	a := axis{from: from, to: to, high: step * math.Ceil(high/step-1e-9)}
	for i := 0; float64(i)*step <= a.high+step/2; i++ {
		a.ticks = append(a.ticks, float64(i)*step)
	}
	return a
}

// roundUp rounds up to 1, 2 or 5 times a power of ten.
func roundUp(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logarithmic returns an axis whose ticks are 1, 2 and 5 times the powers of ten between low and high.
func logarithmic(low, high, from, to float64) axis {
	a := axis{from: from, to: to, log: true, low: math.Log10(low), high: math.Log10(high)}
	if a.high-a.low < 0.1 {
		a.low, a.high = a.low-0.5, a.high+0.5
	}
	for power := math.Floor(a.low); power <= a.high; power++ {
		for _, m := range []float64{1, 2, 5} {
			if t := m * math.Pow(10, power); math.Log10(t) >= a.low-1e-9 && math.Log10(t) <= a.high+1e-9 {
				a.ticks = append(a.ticks, t)
			}
		}
	}
	return a
}
