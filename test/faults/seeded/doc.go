// Package seeded answers one question: would our tests catch the bugs that others have had?
//
// A bug is a patch of our own operator, one file in bugs. It is switched on by an overlay of the Go compiler, so that
// production code knows nothing of it, and an automatic test of the project must fail with it.
//
//	reference: kubeflow/trainer#706                     where it was reported, or where it stands
//	found: a user of ...                                by whom, or how
//	wrong: a job without ...                            what went wrong, in one sentence
//	catch: ./training/convert TestGolden/^replica types.txtar$  a package and a -run pattern: the test that must fail
//	within: 6m                                          how long that may take, unless it is 2 minutes
//	-- before training/convert/replica types.go --              whole lines that stand in the file exactly once
//	-- after training/convert/replica types.go --               what takes their place; more such pairs may follow
//
// A patch that fits no more, because the code has changed, is an error and no success: the bug must be written anew.
package seeded
