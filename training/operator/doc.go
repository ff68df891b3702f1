// Package operator answers one question: HOW DOES THE ENGINE SERVE TRAINING JOBS?
//
// It provides one Watch for each kind to the engine: the converter, the planner, the resources that jobs own, and the
// metrics. It is the only package that connects the engine with training jobs.
package operator
