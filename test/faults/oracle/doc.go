// Package oracle judges whether an operator did to an object what it should, and nothing else.
//
// It judges by a history of the object and a journal of the operator's requests, from a real control plane (package cases) or from
// the model of the API server (package simulation). Judge compares with a run of the same scenario in which nothing went wrong;
// where there is none, AtRest says what must exist at the end. The rules for one operator, beyond those for all operators, are a value of Rules:
//
//	O1  the end state is the same
//	O2  every object was created and deleted as often
//	O3  the process keeps running (judged by whoever runs it)
//	O4  it makes progress (judged by whoever runs it)
//	O5  each error of a rejected object is reported once, and is in a condition
//	O6  no invariant is ever broken
//	O7  memory and open files are bounded (judged by whoever runs it)
package oracle
