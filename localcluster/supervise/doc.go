// Package supervise answers: how do child processes live and die with their
// parent? A child that it starts ends when it is told to, and also when its
// parent is killed without a chance to say so.
package supervise
