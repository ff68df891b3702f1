// Package malformed answers one question: what becomes of malformed objects, of their operator, and of healthy ones beside them?
//
//	valid objects --mutation.Sample--> rounds of some hundreds, of every kind at once
//	a round
//	  store a third                   no operator serves them yet
//	  start the operator              and store the others; a part is valid first, and malformed by an update
//	  time healthy objects beside     they take as long as beside as many healthy ones, which is a round of its own
//	  await, for every object         what its converter says of it, as a library, is what the cluster shows
//	  ask the process                 no panic, ready all the time, nothing left to do, few writes
//	  repair those that were updated  they are served
//	  delete all                      they go, with all that they own
//
// The CRDs are replaced by open ones first, whose schemas take anything.
package malformed
