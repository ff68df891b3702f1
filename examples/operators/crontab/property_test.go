package crontab

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"stoic/controller/schedule"
)

// TestMonths runs schedules for months, from one requeue of a plan to the next: each time that is due is run once, in several
// zones, across both changes of daylight saving time and a leap day. Every other run starts with a crash.
func TestMonths(t *testing.T) {
	for _, test := range []struct {
		cron, zone, began string
		days              int
	}{
		{"* * * * *", "UTC", "2024-02-28", 1},
		{"@hourly", "America/New_York", "2024-02-20", 30}, // a leap day, and a change of the clocks
		{"@hourly", "America/New_York", "2024-10-20", 30},
		{"30 2 * * *", "America/New_York", "2024-03-01", 260},
		{"30 1 * * *", "America/New_York", "2024-03-01", 260},
		{"15 2 * * *", "Australia/Lord_Howe", "2024-03-01", 260},
		{"0 0 * * *", "America/Santiago", "2024-03-01", 260},
		{"0 12 7 9 *", "America/Santiago", "2024-01-01", 1200},
		{"*/20 1-3 * * 0", "Europe/Berlin", "2024-03-01", 260},
		{"0 0 29 2 *", "UTC", "2024-01-01", 3300},
		{"0 0 31 * 5", "Asia/Kathmandu", "2024-01-01", 400},
	} {
		t.Run(strings.ReplaceAll(test.cron+" "+test.zone+" "+test.began, "/", "-"), func(t *testing.T) {
			t.Parallel()
			began, err := time.Parse("2006-01-02", test.began)
			if err != nil {
				t.Fatal(err)
			}
			c := newCluster(t, began, map[string]any{"cronSpec": test.cron, "timeZone": test.zone, "image": "i"})
			l := &leader{cluster: c}
			for i := 0; c.now.Before(began.AddDate(0, 0, test.days)); i++ {
				if i%2 == 0 {
					l.reconcile(len(c.versions), len(c.versions), i%5)
					l = &leader{cluster: c} // killed, and started again
				}
				plan := l.settle()
				for _, name := range c.running() {
					c.end(name, "Complete")
					plan = l.settle()
				}
				if plan.Requeue <= 0 {
					t.Fatalf("nothing is to come after %v: %+v", c.now, plan)
				}
				c.now, c.versions = c.now.Add(plan.Requeue), []state{c.present()} // what has been is not looked at here
				l.tab, l.jobs = 0, 0
			}
			s := scheduleOf(t, test.cron, test.zone)
			var want []time.Time
			for next := s.Next(began); next.Before(c.now); next = s.Next(next) {
				want = append(want, next)
			}
			if len(want) < 1 || !slices.EqualFunc(want, c.order, time.Time.Equal) {
				t.Errorf("%d are due, %d were run", len(want), len(c.order))
			}
			if n := len(c.present().jobs); n > 3 {
				t.Errorf("%d Jobs are kept", n)
			}
		})
	}
}

func scheduleOf(t tester, cron, zone string) *schedule.Schedule {
	t.Helper()
	s, problems := (&CronTabSpec{CronSpec: cron, TimeZone: zone}).schedule()
	if len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return s
}

func namesOf(c *cluster) (names []string) {
	for name := range c.present().jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestStatusWiped: while the Jobs exist, no time is run twice although another client wipes the status at any time.
func TestStatusWiped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t, time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC), map[string]any{"cronSpec": "* * * * *", "image": "i", "successfulJobsHistoryLimit": int64(1000)})
		l := &leader{cluster: c}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				c.edit(func(tab map[string]any) {
					tab["status"] = rapid.SampledFrom([]any{nil, int64(7), map[string]any{}, map[string]any{"lastScheduleTime": "2020-01-01T00:00:00Z"}, map[string]any{"lastScheduleTime": int64(1)}}).Draw(t, "status")
				})
			case 1:
				c.now = c.now.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "seconds")) * time.Second)
			case 2:
				if names := c.running(); len(names) > 0 {
					c.end(names[0], "Complete")
				}
			default:
				l.reconcile(len(c.versions), len(c.versions), rapid.IntRange(0, 3).Draw(t, "writes"))
			}
		}
		l.settle()
		if latest := scheduleOf(t, "* * * * *", "UTC").Latest(time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC), c.now); !latest.IsZero() && len(c.started[latest.Unix()]) != 1 {
			t.Fatalf("the run of %v: %v", latest, c.started[latest.Unix()])
		}
	})
}

// TestForbid: with Forbid, a run that is due is only recorded when the other one is over; with Replace, the other one is deleted first.
func TestForbid(t *testing.T) {
	for policy, both := range map[string]bool{"Allow": true, "Forbid": false, "Replace": false} {
		c := newCluster(t, time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC), map[string]any{"cronSpec": "* * * * *", "image": "i", "concurrencyPolicy": policy})
		l := &leader{cluster: c}
		for range 5 {
			c.now = c.now.Add(time.Minute)
			l.settle()
			if n := len(c.running()); n > 1 != both && len(c.order) > 1 || n > 1 && !both {
				t.Errorf("%s: %d are running", policy, n)
			}
		}
		if policy == "Forbid" {
			if len(c.order) != 1 {
				t.Errorf("%d were started", len(c.order))
			}
			c.end(c.running()[0], "Failed")
			l.settle()
			if n := len(c.order); n != 2 || !c.order[1].Equal(c.now.Truncate(time.Minute)) {
				t.Errorf("when it was over, of those that waited were run: %v", c.order)
			}
		} else if len(c.order) != 5 {
			t.Errorf("%s: %d were started", policy, len(c.order))
		}
	}
}

// TestIdle: as time passes and nothing is due, nothing is written.
func TestIdle(t *testing.T) {
	c := newCluster(t, time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC), map[string]any{"cronSpec": "@yearly", "image": "i"})
	l := &leader{cluster: c}
	l.settle()
	for range 300 {
		c.now = c.now.Add(24 * time.Hour)
		if settled, plan := l.reconcile(len(c.versions), len(c.versions), 1000); !settled || len(plan.Events) > 0 {
			t.Fatalf("at %v: %+v", c.now, plan)
		}
	}
	if _, plan := l.reconcile(len(c.versions), len(c.versions), 0); plan.Requeue != time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).Sub(c.now) || plan.Rule != "Wait" {
		t.Errorf("%+v", plan)
	}
}

// TestTwoLeaders tries every order of three steps around one due time: a leader reconciles on the current versions, with or without
// a crash; another one reconciles on an old version of the CronTab, of the Jobs, or of both; a user deletes the Jobs. Then one
// leader is left. That time is run once, unless the user has deleted its Job.
func TestTwoLeaders(t *testing.T) {
	now := func(c *cluster, back int) int { return max(len(c.versions)-1-back, 0) }
	steps := []func(c *cluster){
		func(c *cluster) { (&leader{cluster: c}).reconcile(now(c, 0), now(c, 0), 9) },
		func(c *cluster) { (&leader{cluster: c}).reconcile(now(c, 0), now(c, 0), 1) },
		func(c *cluster) { (&leader{cluster: c}).reconcile(now(c, 2), now(c, 2), 9) },
		func(c *cluster) { (&leader{cluster: c}).reconcile(now(c, 4), now(c, 4), 9) },
		func(c *cluster) { (&leader{cluster: c}).reconcile(now(c, 9), now(c, 9), 9) },
		func(c *cluster) { (&leader{cluster: c}).reconcile(now(c, 0), now(c, 9), 9) },
		func(c *cluster) { (&leader{cluster: c}).reconcile(now(c, 9), now(c, 0), 9) },
		func(c *cluster) {
			for _, name := range namesOf(c) {
				c.remove(name)
			}
		},
	}
	const depth = 3
	all := 1
	for range depth {
		all *= len(steps)
	}
	for n := range all {
		c := newCluster(t, time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC), map[string]any{"cronSpec": "@hourly", "image": "i"})
		c.now = c.now.Add(time.Hour)
		for code, i := n, 0; i < depth; code, i = code/len(steps), i+1 {
			steps[code%len(steps)](c)
		}
		(&leader{cluster: c}).settle()
		record, _, _ := unstructured.NestedString(c.present().tab.Object, "status", "lastScheduleTime")
		if record != "2026-01-01T01:00:00Z" || len(c.order) > 1 || len(c.order) == 0 && len(c.present().jobs) > 0 {
			t.Fatalf("the order %d: on record is %s, were run %v, there are %v", n, record, c.started, namesOf(c))
		}
	}
}
