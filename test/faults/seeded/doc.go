// Package seeded answers one question: would our tests catch the bugs that others have had?
//
// A bug is a patch of our own operator: one file in bugs. An overlay of the Go compiler applies it, so production code contains
// no trace of it. One of the project's automatic tests must fail with the patch.
//
//	reference: kubeflow/trainer#706                     where it was reported or is described
//	found: a user of ...                                by whom, or how
//	wrong: a job without ...                            what went wrong, in one sentence
//	catch: ./training/convert TestGolden/^replicaspecs.txtar$  a package and a -run pattern: the test that must fail
//	within: 6m                                          how long that may take, unless it is 2 minutes
//	-- before training/convert/replicaspecs.go --              whole lines that occur in the file exactly once
//	-- after training/convert/replicaspecs.go --               the lines that replace them; more such pairs may follow
//
// A patch that no longer fits, because the code has changed, is an error and not a success: the bug must be rewritten.
package seeded
