package report

// The measures, by their names in reports and tables.
const (
	Writes     = "writes per job"
	Events     = "events per job"
	Dropped    = "events dropped"
	Conflicts  = "answers 409"
	Gets       = "GETs"
	CPU        = "CPU per job, ms"
	CPUPerPod  = "CPU per pod, ms"
	Peak       = "peak RSS, MB"
	PeakPerJob = "RSS gained per job, KB"
	Unseen     = "jobs never seen Running"
	Rate       = "creates per second"
	Throughput = "jobs per second"

	CreatedP50 = "created p50, s"
	RunningP50 = "Running p50, s"
	RunningP99 = "Running p99, s"
	EndedP99   = "ended p99, s"
	DeathP99   = "death told p99, s"

	IdleCPU = "idle CPU, % of a core"
	Restart = "start to first new pod, s"
	Ready   = "start to ready, s"
	Memory  = "RSS at rest, MB"
	Growth  = "RSS grown since half time, MB"
)

// What is waited for; see SetLatency.
const (
	WaitCreated = "created"
	WaitRunning = "Running"
	WaitEnded   = "ended"
	WaitDeath   = "death told"
)
