package monitoring

import "fmt"

// operatorDashboard: is the operator well, and if not, what holds it up?
func operatorDashboard() Dashboard {
	return Dashboard{Name: "operator", Title: "Training operator", Variables: operatorVariables(),
		Description: "Whether the training operator is well: its processes, its work, what the API server gives it. Needs the recording rules of deploy/monitoring.",
		Rows: []Row{
			{"Presence", presencePanels()}, {"Work", workPanels()}, {"API server", apiPanels()}, {"Delivery of events", eventPanels()},
			{"Caches", cachePanels()}, {"Resources", processPanels()},
		}}
}

// own metrics begin with training_operator_; nobody else has them.
func own(aggregation, metric string) string {
	return fmt.Sprintf("%s (%s{%s})", aggregation, metric, selected)
}

// shared metrics have the same names in other operators.
func shared(aggregation, metric string) string {
	return fmt.Sprintf("%s (%s)", aggregation, ours(fmt.Sprintf("%s{%s}", metric, selected)))
}

// perSecond is the rate of a metric of our own.
func perSecond(aggregation, metric string) string {
	return fmt.Sprintf("%s (rate(%s{%s}[5m]))", aggregation, metric, selected)
}

// orNone is 0 under the name "none" while an expression by a label has no result, as is right while nothing has happened.
func orNone(label, expression string) string {
	return fmt.Sprintf(`%s or on () label_replace(vector(0), %q, "none", "", "")`, expression, label)
}

func presencePanels() []Panel {
	return []Panel{
		{Title: "Processes", Number: true, Unit: Count, Description: "Processes that are scraped. One works; the others stand by.",
			Queries: []Query{{own("count", build), "processes"}}},
		{Title: "Leaders", Number: true, Unit: Count, Description: "Processes that may write. There must be one for each operator.",
			Queries: []Query{{shared("sum", "leader_election_master_status"), "leaders"}}},
		{Title: "Version", Number: true, Unit: Count, Description: "Processes by version. Two versions are there while an upgrade is rolled out.",
			Queries: []Query{{own("count by (version)", build), "{{version}}"}}},
		{Title: "Youngest process", Number: true, Unit: Seconds, Description: "Time since a process began last.",
			Queries: []Query{{fmt.Sprintf("time() - %s", shared("max", "process_start_time_seconds")), "age"}}},
		{Title: "Panics in a day", Number: true, Unit: Count, Description: "Panics in reconciles and in the converter. Each is caught, and each is a defect.",
			Queries: []Query{{fmt.Sprintf("sum (increase(training_operator_panics_total{%[1]s}[1d])) + sum (increase(training_operator_converter_panics_total{%[1]s}[1d]))", selected), "panics"}}},
		{Title: "Kinds served", Number: true, Unit: Count, Description: "Kinds that the API server serves and the operator watches: jobs, and what gangs and autoscaling need.",
			Queries: []Query{{fmt.Sprintf("sum (max by (kind) (training_operator_kind_served{%s}))", selected), "kinds"}}},
	}
}

func workPanels() []Panel {
	return []Panel{
		{Title: "Reconciles", Unit: PerSecond, Stacked: true, Description: "Reconciles per second, by result. requeue_after: it looks again at a time that it knows, such as a deadline.",
			Queries: []Query{{own("sum by (result)", "operator_controller_result:controller_runtime_reconcile:rate5m"), "{{result}}"}}},
		{Title: "Failed reconciles", Unit: PerSecond, Description: "Failed reconciles per second, by class. refused: by the API server, until something is changed. denied: by its admission, for example a quota. retry: any other error that may pass, including a missing right. panic: a defect.",
			Queries: []Query{{perSecond("sum by (class)", "training_operator_reconcile_errors_total"), "{{class}}"}}},
		{Title: "Duration of reconciles", Unit: Seconds, Description: "Half, and 99 of 100, of the reconciles of the slowest kind took no longer.",
			Queries: []Query{{own("max", "operator_controller:controller_runtime_reconcile_time_seconds:p50_5m"), "p50"},
				{own("max", "operator_controller:controller_runtime_reconcile_time_seconds:p99_5m"), "p99"}}},
		{Title: "Keys that wait", Unit: Count, Description: "Length of each queue. Only the process that leads has keys. More than 100 for a quarter of an hour is an alert, but for events, which have one of their own.",
			Queries: []Query{{own("sum by (controller)", "operator_controller:workqueue_depth:sum"), "{{controller}}"}}},
		{Title: "Time in the queue", Unit: Seconds, Description: "99 of 100 keys waited no longer until a worker took them.",
			Queries: []Query{{own("max by (controller)", "operator_controller:workqueue_queue_duration_seconds:p99_5m"), "{{controller}}"}}},
		{Title: "Busy workers", Unit: Share, Description: "Share of the workers that have something to do. With all of them busy, keys wait.",
			Queries: []Query{{shared("sum by (controller)", "controller_runtime_active_workers") + "\n/\n" + shared("sum by (controller)", "controller_runtime_max_concurrent_reconciles"), "{{controller}}"}}},
		{Title: "Longest reconcile that runs", Unit: Seconds, Description: "How long the oldest reconcile has been running. More than two and a half minutes is an alert.",
			Queries: []Query{{shared("max by (controller)", "workqueue_longest_running_processor_seconds"), "{{controller}}"}}},
		{Title: "Conversions", Unit: PerSecond, Description: "Objects read from the API server per second, by whether they are well-formed.",
			Queries: []Query{{perSecond("sum by (result)", "training_operator_objects_converted_total"), "{{result}}"}}},
		{Title: "Live reads", Unit: PerSecond, Description: "Reconciles per second that read from the API server because the watches had not brought the operator's own writes yet.",
			Queries: []Query{{orNone("kind", perSecond("sum by (kind)", "training_operator_live_reads_total")), "{{kind}}"}}},
	}
}

func apiPanels() []Panel {
	return []Panel{
		{Title: "Requests", Unit: PerSecond, Stacked: true, Description: "Requests to the API server per second, by code. 404 and 409 are everyday answers; 429 and 5xx are not.",
			Queries: []Query{{own("sum by (code)", "operator_code_method:rest_client_requests:rate5m"), "{{code}}"}}},
		{Title: "Duration of requests", Unit: Seconds, Description: "99 of 100 requests had the first byte of their answer no later.",
			Queries: []Query{{own("max by (verb)", "operator_verb:rest_client_request_duration_seconds:p99_5m"), "{{verb}}"}}},
		{Title: "Failed watches", Unit: Count, Description: "Lists and watches that failed within a quarter of an hour, by kind.",
			Queries: []Query{{fmt.Sprintf("sum by (kind) (increase(training_operator_watch_errors_total{%s}[15m]))", selected), "{{kind}}"}}},
	}
}

func eventPanels() []Panel {
	return []Panel{
		{Title: "Events that wait", Unit: Count, Description: "Events that are to be sent. At the usual rate 3000 are sent in a minute.",
			Queries: []Query{{own("sum", "training_operator_events_backlog"), "waiting"}}},
		{Title: "Events", Unit: PerSecond, Stacked: true, Description: "Events per second, by result. known: the API server had it. late: given up. postponed: no room, asked for again.",
			Queries: []Query{{perSecond("sum by (result)", "training_operator_events_total"), "{{result}}"}}},
	}
}

func cachePanels() []Panel {
	return []Panel{
		{Title: "Objects in the caches", Unit: Count, Stacked: true, Description: "Objects that a process keeps in its memory, by kind.",
			Queries: []Query{{own("max by (kind)", "training_operator_cached_objects"), "{{kind}}"}}},
		{Title: "Kinds", Unit: Count, Description: "1 for each kind that is served and watched, 0 for each that is waited for.",
			Queries: []Query{{own("max by (kind)", "training_operator_kind_served"), "{{kind}}"}}},
	}
}

func processPanels() []Panel {
	return []Panel{
		{Title: "Memory", Unit: Bytes, Description: "Resident memory and Go's heap in use, of the largest process.",
			Queries: []Query{{shared("max", "process_resident_memory_bytes"), "resident"}, {shared("max", "go_memstats_heap_inuse_bytes"), "heap in use"}}},
		{Title: "Memory beside its limit", Unit: Share, Description: "Resident memory of each process as a share of GOMEMLIMIT, which is nine tenths of the container's limit. Without a limit it is almost 0.",
			Queries: []Query{{fmt.Sprintf("max by (instance) (%s)", ours(fmt.Sprintf("process_resident_memory_bytes{%[1]s} / go_gc_gomemlimit_bytes{%[1]s}", selected))), "{{instance}}"}}},
		{Title: "CPU", Unit: Cores, Description: "Cores in use, by process.",
			Queries: []Query{{fmt.Sprintf("sum by (instance) (%s)", ours(fmt.Sprintf("rate(process_cpu_seconds_total{%s}[5m])", selected))), "{{instance}}"}}},
		{Title: "Goroutines", Unit: Count, Description: "Goroutines, by process. A number that only grows is a defect.",
			Queries: []Query{{shared("sum by (instance)", "go_goroutines"), "{{instance}}"}}},
		{Title: "Open files", Unit: Count, Description: "File descriptors in use, by process.",
			Queries: []Query{{shared("sum by (instance)", "process_open_fds"), "{{instance}}"}}},
	}
}
