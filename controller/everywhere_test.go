package controller

import (
	"testing"

	"stoic/schema"
)

// TestIsEverywhere: if only one namespace is served, children that may be in others are seen nevertheless.
func TestIsEverywhere(t *testing.T) {
	plain, annotated, ofCluster := &Owned{Resource: schema.ConfigMaps()}, &Owned{Resource: schema.ConfigMaps(), OwnerAnnotation: "test.example.com/owner"},
		&Owned{Resource: schema.ConfigMaps()}
	c := &Controller{options: Options{Namespace: "team", Watches: []Watch{
		{Resource: schema.Resource{Plural: "foobars"}, Owns: []*Owned{plain, annotated, ofCluster}},
		{Resource: schema.Resource{Plural: "clusterfoobars", Cluster: true}, Owns: []*Owned{ofCluster}}}}}
	if c.isEverywhere(plain) || !c.isEverywhere(annotated) || !c.isEverywhere(ofCluster) {
		t.Error(c.isEverywhere(plain), c.isEverywhere(annotated), c.isEverywhere(ofCluster))
	}
}
