package foobarset

import (
	"testing"

	"stoic/test/source"
)

// written is what the author of this operator writes by hand.
func written() source.Operator {
	return source.Operator{Written: []string{"decide.go", "cmd/main.go"}, Beside: []string{"types.go"},
		Imports: []string{"stoic/examples/operators/foobarset"}}
}

func TestSize(t *testing.T) { written().Size(t) }

func TestOnTheEngineAlone(t *testing.T) { written().OnTheEngineAlone(t) }
