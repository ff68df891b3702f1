package measure

import (
	"math"
	"slices"
	"time"
)

// Quantiles of a number of times, in seconds.
type Quantiles struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Summarize returns quantiles of times. A quantile is one of the times: the smallest that this share of them does not exceed.
func Summarize(times []time.Duration) Quantiles {
	if len(times) == 0 {
		return Quantiles{}
	}
	sorted := slices.Sorted(slices.Values(times))
	at := func(share float64) float64 {
		i := int(math.Ceil(share*float64(len(sorted)))) - 1
		return sorted[max(i, 0)].Seconds()
	}
	return Quantiles{len(sorted), at(0.5), at(0.9), at(0.99), at(1)}
}
