package convert

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// choosy has a decoder of its own, whose errors repeat the value.
type choosy struct{ text string }

func (c *choosy) UnmarshalJSON(text []byte) error {
	if c.text = string(text); strings.Contains(c.text, "red") {
		return nil
	}
	return fmt.Errorf("%s is\nnot red", text)
}

func (c choosy) MarshalJSON() ([]byte, error) { return []byte(c.text), nil }

// TestDecoderSays: the error of a type's own decoder is part of the problem, unless the value may be a credential.
func TestDecoderSays(t *testing.T) {
	type spec struct {
		Color  choosy            `json:"color"`
		Colors []choosy          `json:"colors"`
		ByName map[string]choosy `json:"byName"`
		Hidden choosy            `json:"hidden"`
		At     time.Time         `json:"at"`
		IP     netip.Addr        `json:"ip"`
		Big    *big.Int          `json:"big"`
		Size   json.Number       `json:"size"`
	}
	long := strings.Repeat("x", 1<<20)
	for text, want := range map[string]string{
		`{"color":"red"}`:                 `[]`,
		`{"color":"blue"}`:                `[spec.color: found string "blue", must be well-formed; "blue" is not red]`,
		`{"color":{"a":{}}}`:              `[spec.color: found an object, must be well-formed; {"a":{}} is not red]`,
		`{"color":{"password":"blue"}}`:   `[spec.color: found an object, must be well-formed]`,
		`{"color":{"a":["my token: 7"]}}`: `[spec.color: found an object, must be well-formed]`,
		`{"color":"a key: blue"}`:         `[spec.color: found a string (not shown), must be well-formed]`,
		`{"color":"` + long + `"}`:        `[spec.color: found string "` + long[:57] + `...", must be well-formed; "` + long[:146] + `...]`,
		`{"colors":["red","blue"]}`:       `[spec.colors[1]: found string "blue", must be well-formed; "blue" is not red]`,
		`{"byName":{"a":7}}`:              `[spec.byName.a: found number 7, must be well-formed; 7 is not red]`,
		`{"hidden":"blue"}`:               `[spec.hidden: found a string (not shown), must be well-formed]`,
		`{"hidden":{"a":["blue"]}}`:       `[spec.hidden: found an object, must be well-formed]`,
		`{"at":"soon"}`:                   `[spec.at: found string "soon", must be well-formed; parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"]`,
		`{"at":7}`:                        `[spec.at: found number 7, must be well-formed; Time.UnmarshalJSON: input is not a JSON string]`,
		`{"ip":"1.2.3"}`:                  `[spec.ip: found string "1.2.3", must be well-formed; ParseAddr("1.2.3"): IPv4 address too short]`,
		`{"big":"x"}`:                     `[spec.big: found string "x", must be well-formed; math/big: cannot unmarshal "\"x\"" into a *big.Int]`,
		`{"size":"x"}`:                    `[spec.size: found string "x", must be well-formed; json: invalid number literal, trying to unmarshal "\"x\"" into Number]`,
	} {
		got := Typed[specOf[spec]](gadgets(), Hide[spec]("hidden"))(specIn(t, text))
		if diff := cmp.Diff(want, fmt.Sprint(sentences(got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text[:min(len(text), 60)], diff)
		}
	}
}
