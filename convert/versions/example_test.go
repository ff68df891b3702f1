package versions_test

import (
	"fmt"

	"stoic/convert"
	"stoic/convert/versions"
)

// gadgets returns a kind whose older version had a mode, which is the type now, and no size.
func gadgets() versions.Kind {
	return versions.Kind{Group: "example.com", Name: "Gadget", Hub: "v1", Annotation: "example.com/conversion", Versions: []versions.Version{{
		Name:    "v1beta1",
		Moves:   []versions.Move{{Here: "spec.mode", Hub: "spec.type"}},
		HubOnly: []string{"spec.size"},
	}}}
}

func ExampleKind() {
	converter, err := gadgets().Converter()
	if err != nil {
		fmt.Println(err)
		return
	}
	object := map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"type": "Copy", "size": int64(3)}}
	old, err := converter.Convert(object, "v1beta1")
	fmt.Println(old.Outcome, old.Lost, err)
	fmt.Println(string(new(convert.Encoder).EncodeAll(old.Object)))
	again, err := converter.Convert(old.Object, "v1")
	fmt.Println(string(new(convert.Encoder).EncodeAll(again.Object)), err)
	// Output:
	// converted [spec.size] <nil>
	// {"apiVersion":"example.com/v1beta1","kind":"Gadget","metadata":{"annotations":{"example.com/conversion":"{\"v1\":{\"lost\":{\"spec\":{\"size\":3}}}}"},"name":"a"},"spec":{"mode":"Copy"}}
	// {"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"a"},"spec":{"size":3,"type":"Copy"}} <nil>
}
