package foobar

import (
	"flag"
	"testing"

	"stoic/test/decision"
)

var update = flag.Bool("update", false, "write the plans of testdata anew")

// TestDecide compares the plans for the FooBars and ClusterFooBars in testdata.
func TestDecide(t *testing.T) { decision.Golden(t, Watches(), 12, *update) }
