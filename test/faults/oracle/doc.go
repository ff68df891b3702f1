// Package oracle answers one question: did an operator do to an object what it should, and nothing else?
//
// It judges from a history of the object and a journal of the operator's requests, against a run of the same kind in which
// nothing went wrong. What one operator is held to beside all others is a value of Rules:
//
//	O1  the end state is the same
//	O2  every object was made and deleted as often
//	O3  the process keeps running (judged by whoever runs it)
//	O4  it makes progress (judged by whoever runs it)
//	O5  what is wrong with a rejected object is reported once, and stands in a condition
//	O6  at no time does a rule not hold that always holds
//	O7  memory, goroutines and files are bounded (judged by whoever runs it)
//	O8  healthy jobs beside it are as fast as ever (Slower, over all runs)
package oracle
