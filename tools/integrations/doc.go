// Package integrations checks what other programs make of our jobs. It has only tests.
//
// test/fixtures/states, written by training/operator, has the stored objects of a job of each kind in each state. TestPrograms gives
// them to the library that a program uses, or to the program's rule, rewritten here from its description. The configurations come from
// deploy/integrations.
package integrations
