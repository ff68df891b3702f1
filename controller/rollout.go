package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"stoic/convert"
)

// RolloutBounds returns how many more objects than n there may be during a roll-out, and how many fewer may be available, as a Deployment
// reads its maxSurge and maxUnavailable: a number, or a share of n.
//
//	n     maxSurge  maxUnavailable   surge  unavailable
//	10    25%       25%              3      2             surge is rounded up, unavailable down
//	3     1         9                1      3             no more than there are
//	3     0         25%              0      1             both zero would replace nothing
//	0     25%       25%              0      0
//
// A share that cannot be parsed and a negative number count as zero. surge has no upper bound: the caller's validation sets one.
func RolloutBounds(n int, maxSurge, maxUnavailable intstr.IntOrString) (surge, unavailable int) {
	scaled := func(v intstr.IntOrString, roundUp bool) int {
		number, err := intstr.GetScaledValueFromIntOrPercent(&v, n, roundUp)
		if err != nil {
			return 0
		}
		return max(number, 0)
	}
	if surge, unavailable = scaled(maxSurge, true), scaled(maxUnavailable, false); surge == 0 {
		unavailable = max(unavailable, 1)
	}
	return surge, min(unavailable, n)
}

// SelectedBy returns an Owned.Claims for objects of a Go type that have a selector of their own, as Deployments do. Validate the
// selector: one that cannot be parsed claims nothing. An object that is rejected claims nothing, and keeps what it has.
func SelectedBy[T any](selector func(object *T) *metav1.LabelSelector) func(owner *convert.Result) labels.Selector {
	return func(owner *convert.Result) labels.Selector {
		object, is := owner.Object.(*T)
		if !is {
			return nil
		}
		selects, err := metav1.LabelSelectorAsSelector(selector(object))
		if err != nil {
			return nil
		}
		return selects
	}
}
