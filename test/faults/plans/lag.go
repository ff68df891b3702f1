package plans

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
	"stoic/test/faults/scenario"
)

// lags are G4: after write k the operator's watches deliver nothing for a while. It must not repeat a write whose effect it cannot see.
func lags(sc scenario.Scenario, ref reference, random *rand.Rand) (plans []Plan) {
	resources := watched(sc)
	for k := 1; k <= ref.writes; k++ {
		held := resources
		if only := random.IntN(2 * len(resources)); only < len(resources) {
			held = resources[only : only+1]
		}
		blind := 3 * time.Second
		if random.IntN(8) == 0 {
			blind = 13 * time.Second // longer than the operator waits for its caches: it reads from the API server
		}
		plans = append(plans, Plan{Goal: "G4", Scenario: sc, Fault: fmt.Sprintf("after write %d, %v held for %v", k, held, blind), writes: int(blind / time.Second), notice: blind + usualNotice,
			arrange: func(a *Attempt) error {
				streams := a.Sandbox.Proxy.Streams()
				a.Track.Inject(proxy.Fault{At: k, Act: proxy.Along{Do: func() {
					a.note("held")
					for _, r := range held {
						streams.Hold(r)
					}
					time.AfterFunc(blind, func() {
						for _, r := range held {
							streams.Release(r)
						}
						a.note("released")
					})
				}}})
				return nil
			},
			afterwards: func(ctx context.Context, a *Attempt) error {
				if times, _ := a.Track.Fired(); times == 0 {
					return nil
				}
				return await(ctx, "the watches to go on", func() bool { return a.noted("released") })
			},
			more: nothingTwice})
	}
	return plans
}

// renewal is how long an operator may take to watch again after a watch has broken off.
const renewal = 3 * time.Second

// breaks are G4, too: after write k the operator's watches break off, in the middle of an event or with 410 Expired. No bookmark
// has updated its position: it receives again what it knows, or lists again.
func breaks(sc scenario.Scenario, ref reference) (plans []Plan) {
	for k := 1; k <= ref.writes; k++ {
		for how, end := range []func(*proxy.Streams, string){(*proxy.Streams).Cut, (*proxy.Streams).Gone} {
			plans = append(plans, Plan{Goal: "G4", Scenario: sc, Fault: fmt.Sprintf("after write %d, watches %s, no bookmarks", k, []string{"cut", "expired"}[how]),
				writes: int(renewal / time.Second), notice: renewal + usualNotice, more: nothingTwice,
				arrange: func(a *Attempt) error {
					a.Track.Inject(proxy.Fault{At: k, Act: proxy.Along{Do: func() {
						for _, r := range watched(sc) {
							end(a.Sandbox.Proxy.Streams(), r)
						}
					}}})
					return nil
				},
				during: func(ctx context.Context, a *Attempt) {
					a.Sandbox.Proxy.Streams().DropBookmarks(true)
					<-ctx.Done()
					a.Sandbox.Proxy.Streams().DropBookmarks(false)
				}})
		}
	}
	return plans
}

// watched returns the resources whose watches a fault affects: those of the dependents, and then the object's.
func watched(sc scenario.Scenario) (found []string) {
	for _, r := range sc.Operator.Dependents {
		found = append(found, r.Resource)
	}
	return append(found, sc.Resource.Resource)
}

// nothingTwice: while the operator was blind it created nothing that existed already, except what it never observes.
func nothingTwice(a *Attempt) (found []oracle.Violation) {
	unseen := func(e proxy.Entry) bool {
		return slices.ContainsFunc(a.Scenario.Operator.Unwatched, func(r schema.GroupVersionResource) bool { return r.Resource == e.Resource })
	}
	for _, e := range a.Track.Journal() {
		if e.Verb == "create" && e.Resource != "events" && e.Code == http.StatusConflict && e.Fault == "" && !unseen(e) && a.madeBefore(e) {
			found = append(found, oracle.Violation{Oracle: "O2", Text: fmt.Sprintf("write %d creates %s %s, which exists", e.Number, e.Resource, e.Name)})
		}
	}
	return found
}

// madeBefore reports whether the object that the request would create existed and belonged to the same job.
func (a *Attempt) madeBefore(e proxy.Entry) bool {
	made := false
	for _, v := range a.Run.Versions() {
		if v.Object.GetName() == e.Name && v.Object.GetNamespace() == e.Namespace && v.Resource.Resource == e.Resource && v.At.Before(e.Began) {
			made = v.Type != watch.Deleted && contains(e.Request.Body, string(a.Scenario.Operator.Rules.Owner(v.Object))) // an orphan has no owner
		}
	}
	return made
}

// note records when something happened; callbacks run on their own goroutines.
func (a *Attempt) note(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes[what] = time.Now()
}

func (a *Attempt) noted(what string) bool { return !a.when(what).IsZero() }

func (a *Attempt) when(what string) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.notes[what]
}

// longestGap is how many events in a row are withheld from the operator at most.
const longestGap = 8

// gaps are G5: a window of the events about a job's objects never reaches the operator, which must list again.
func gaps(sc scenario.Scenario, ref reference) (plans []Plan) {
	for _, resource := range watched(sc) {
		events := ref.reported[resource]
		for from := 1; from <= events; from++ {
			for to := from; to < from+longestGap && to <= events; to++ {
				plans = append(plans, Plan{Goal: "G5", Scenario: sc, Fault: fmt.Sprintf("%s events %d to %d are not told", resource, from, to),
					came: struck, notice: 2 * usualNotice,
					arrange: func(a *Attempt) error {
						a.Sandbox.Proxy.Streams().Skip(resource, a.Actor.Job, from, to)
						return nil
					},
					afterwards: func(ctx context.Context, a *Attempt) error {
						a.struck = a.Sandbox.Proxy.Streams().Skipped()
						return nil
					}})
			}
		}
	}
	return plans
}
