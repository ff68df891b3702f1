package crontab

import (
	"slices"
	"testing"

	"stoic/test/source"
)

// written is what the author of this operator writes by hand.
// Beside it are tests, and types with their defaults and validation.
func written() source.Operator {
	return source.Operator{Written: []string{"decide.go", "cmd/main.go"}, Beside: []string{"types.go"},
		Imports: []string{"stoic/examples/operators/crontab"},
		Time:    func(name string) bool { return slices.Contains([]string{"Time", "Minute", "Unix"}, name) }}
}

func TestSize(t *testing.T) { written().Size(t) }

func TestOnTheEngineAlone(t *testing.T) { written().OnTheEngineAlone(t) }
