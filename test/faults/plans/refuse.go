package plans

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"stoic/test/faults/proxy"
	"stoic/test/faults/scenario"
)

// acts returns the faults of G6, by name.
func acts() map[string]proxy.Act {
	return map[string]proxy.Act{
		"reset":             proxy.Reset{},
		"drop after commit": proxy.Drop{},
		"409":               proxy.Refuse{Code: http.StatusConflict},
		"410":               proxy.Refuse{Code: http.StatusGone},
		"422":               proxy.Refuse{Code: http.StatusUnprocessableEntity},
		"429":               proxy.Refuse{Code: http.StatusTooManyRequests, RetryAfter: time.Second},
		"500":               proxy.Refuse{Code: http.StatusInternalServerError},
		"503":               proxy.Refuse{Code: http.StatusServiceUnavailable},
		"504":               proxy.Refuse{Code: http.StatusGatewayTimeout},
	}
}

const (
	// troubleEnds is when the API server recovers, if fewer than ten requests were made by then: an operator with a good back-off
	// makes fewer.
	troubleEnds = 15 * time.Second
	// afterTrouble is longer than any pause between two retries of an operator that has received errors for troubleEnds.
	afterTrouble = 3 * time.Minute
)

// refused are G6: every request is answered with every error, once and ten times in a row.
func refused(sc scenario.Scenario, ref reference) (plans []Plan) {
	for k := 1; k <= ref.requests; k++ {
		for _, name := range sortedNames(acts()) {
			act := acts()[name]
			for _, times := range []int{1, 10} {
				plans = append(plans, Plan{Goal: "G6", Scenario: sc, Fault: fmt.Sprintf("request %d: %s, %d times", k, name, times),
					patience: afterTrouble, writes: 3 * times, basic: times == 1 && slices.Contains([]string{"409", "500", "drop after commit"}, name), canary: k%4 == 0 && times == 1 && sc.Timed(),
					arrange: func(a *Attempt) error {
						a.Track.Inject(proxy.Fault{At: k, Times: times, Reads: true, Act: act})
						return nil
					}, during: endTrouble})
			}
		}
	}
	return plans
}

// endTrouble lifts the faults some time after the first of them.
func endTrouble(ctx context.Context, a *Attempt) {
	fired := func() bool { times, _ := a.Track.Fired(); return times > 0 }
	if await(ctx, "the fault", fired) == nil && pass(ctx, troubleEnds) == nil {
		a.Track.Lift()
	}
}
