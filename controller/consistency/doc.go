// Package consistency answers one question: ARE THE CACHES NEW ENOUGH TO DECIDE ON?
//
// Informers lag behind our own writes. A reconcile that decides on an older state creates what exists and deletes what
// is needed. The Store remembers, for each object, what our own writes and reads have shown of it and of its children,
// and says whether a reconcile may decide on the caches, has to wait for them, or has to read from the API server. It
// replaces expectations.
package consistency
