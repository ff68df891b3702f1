// Package malformed answers one question: what happens to malformed objects, their operator, and healthy objects beside them?
//
//	valid objects --mutation.Sample--> rounds of some hundreds, of every kind at a time
//	a round
//	  store a third                   no operator is running yet
//	  start the operator              and store the others; a part is valid first, and malformed by an update
//	  time healthy objects beside     they take as long as beside as many healthy ones, which is a separate round
//	  await, for every object         the cluster shows what its converter, called as a library, returns
//	  examine the process             no panic, ready all the time, no work left, few writes
//	  repair those that were updated  they are served
//	  delete all                      they are deleted, with all that they own
//
// First the CRDs are replaced by open ones, whose schemas accept anything.
package malformed
