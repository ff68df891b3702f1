package kinds

import (
	"slices"

	"stoic/training"
	"stoic/training/kinds/v2beta1"
)

// All lists every kind that a plain installation has a CRD of. The list is explicit: nothing registers itself.
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

// Served lists every kind that this program serves: All, and other versions of kinds, whose CRD takes the place of one that
// is installed. Of two versions the operator serves the one that the cluster serves.
func Served() []*training.Kind { return slices.Concat(All(), []*training.Kind{v2beta1.MPIJob()}) }
