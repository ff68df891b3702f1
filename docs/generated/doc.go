// Package generated answers one question: is a generated file as it would be written? Commands that write files from what the
// project itself says call it, and so have the same -check.
package generated
