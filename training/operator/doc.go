// Package operator answers one question: HOW DOES THE ENGINE SERVE TRAINING JOBS?
//
// It gives the engine one Watch for each kind: the converter, the planner, the dependents that jobs own, and the
// counters of jobs. It is the only package that knows both the engine and training jobs.
package operator
