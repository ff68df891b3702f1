package kinds

import (
	"slices"

	"stoic/training"
	"stoic/training/kinds/v2beta1"
)

// All returns every kind whose CRD is in a plain installation. The list is explicit: nothing registers itself.
func All() []*training.Kind {
	return []*training.Kind{
		JAXJob(),
		MPIJob(),
		PaddleJob(),
		PyTorchJob(),
		TFJob(),
		XGBoostJob(),
	}
}

// Served returns every kind that this program serves: All, and other versions of kinds, whose CRD replaces the plain one.
// The operator serves the version that the cluster serves; see package v2beta1 for clusters that serve both.
func Served() []*training.Kind { return slices.Concat(All(), []*training.Kind{v2beta1.MPIJob()}) }
