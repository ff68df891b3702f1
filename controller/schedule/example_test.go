package schedule_test

import (
	"fmt"
	"time"

	"stoic/controller/schedule"
	"stoic/schema"
)

// A converter reports what Parse finds wrong, and keeps the schedule if it is right.
func ExampleSchedule() {
	berlin, _ := schedule.Zone("spec.timeZone", "Europe/Berlin")
	s, _ := schedule.Parse("spec.cronSpec", "30 2 * * sun", berlin)
	fmt.Println(schedule.Text(s.Next(time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)))) // the clocks go forward from 2:00 to 3:00
	fmt.Println(schedule.Text(s.Next(time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC))))

	_, problems := schedule.Parse("spec.cronSpec", "61 2 * * *", berlin)
	fmt.Println(problems[0].Path, problems[0].Found)
	// Output:
	// 2026-03-29T01:00:00Z
	// 2026-04-05T00:30:00Z
	// spec.cronSpec "61" as the minute (field 1 of 5)
}

// A planner starts the run that is due, reports those that were missed, and requeues for the time of the next one.
func ExampleRuns() {
	hourly, _ := schedule.Parse("spec.cronSpec", "@hourly", nil)
	last := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	deadline := int64(600)
	runs := hourly.Runs(last, last.Add(2*time.Hour+5*time.Minute), &deadline)
	fmt.Println("start the run of", schedule.Text(runs.Due))
	for _, event := range runs.Missed() {
		fmt.Println(event.Reason+":", event.Message)
	}
	// Output:
	// start the run of 2026-11-26T10:00:00Z
	// MissSchedule: the run of 2026-11-26T09:00:00Z was not started within spec.startingDeadlineSeconds
}

// The name of a run's object has its time, so that no restart and no second leader starts a run twice.
func ExampleTimed() {
	at := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	name := schedule.Name("nightly", at)
	observed := []schema.Child{
		{Name: schedule.Name("nightly", at.Add(time.Hour))},
		{Name: "nightly-by-hand"},
		{Name: name},
	}
	for _, run := range schedule.Children("nightly", observed) {
		fmt.Println(run.Name, schedule.Text(run.At))
	}
	// Output:
	// nightly-29928060 2026-11-26T09:00:00Z
	// nightly-29928120 2026-11-26T10:00:00Z
}
