package apimodel

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// discover answers discovery requests: the version, the groups, and the resources of one.
func (w *Model) discover(r *http.Request) (answer []byte, found bool) {
	if r.Method != http.MethodGet {
		return nil, false
	}
	var object any
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/version":
		object = version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.2"}
	case len(segments) == 1 && segments[0] == "api":
		object = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case len(segments) == 1 && segments[0] == "apis":
		object = w.groups()
	case len(segments) == 2 && segments[0] == "api":
		object = w.resourcesOf("", segments[1])
	case len(segments) == 3 && segments[0] == "apis":
		object = w.resourcesOf(segments[1], segments[2])
	}
	if list, is := object.(*metav1.APIResourceList); object == nil || is && list == nil {
		return nil, false
	}
	return encode(object), true
}

func (w *Model) groups() *metav1.APIGroupList {
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, r := range w.resources {
		known := func(g metav1.APIGroup) bool { return g.Name == r.Group }
		if r.Group == "" || slices.ContainsFunc(list.Groups, known) {
			continue
		}
		version := metav1.GroupVersionForDiscovery{GroupVersion: r.apiVersion(), Version: r.Version}
		list.Groups = append(list.Groups, metav1.APIGroup{Name: r.Group, PreferredVersion: version, Versions: []metav1.GroupVersionForDiscovery{version}})
	}
	return list
}

// resourcesOf returns the resources of a group's version; nil if it is not served.
func (w *Model) resourcesOf(group, version string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: Resource{Group: group, Version: version}.apiVersion()}
	for _, r := range w.resources {
		if r.Group != group || r.Version != version {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: r.Plural, SingularName: strings.ToLower(r.Kind), Kind: r.Kind,
			Namespaced: r.Namespaced, Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}})
		if r.Status {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: r.Plural + "/status", Kind: r.Kind, Namespaced: r.Namespaced,
				Verbs: metav1.Verbs{"get", "patch", "update"}})
		}
	}
	if len(list.APIResources) == 0 {
		return nil
	}
	return list
}
