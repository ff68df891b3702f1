package integration

import (
	"regexp"
	"slices"
	"strings"

	"stoic/schema"
)

// isExcused reports whether a disagreement is intended. A pod that is rejected because of our additions never is.
func isExcused(f finding) bool {
	if f.spoilt {
		return false
	}
	if f.outcome == onlyServerTakes {
		return !slices.ContainsFunc(f.problems, func(p schema.Problem) bool { return !isRefusedOnPurpose(f, p) })
	}
	return isLeftToServer(f)
}

// isRefusedOnPurpose reports whether we reject this although the API server accepts it.
func isRefusedOnPurpose(f finding, p schema.Problem) bool {
	switch {
	// The API server makes an empty text, a 0 or an empty object of a null in a list or for an amount, which nobody means by it. A CRD
	// with a schema does not let it in.
	case p.Code == schema.TypeMismatch && p.Found == "null":
		return true
	// API servers before 1.36 refuse services whose name starts with a digit, and a job is to run on all of them.
	case p.Path == "metadata.name" && f.name[0] >= '0' && f.name[0] <= '9':
		return true
	// To parse a power of ten with four digits costs more than it can be worth: each such amount is the highest or the lowest that there is.
	case strings.HasPrefix(p.Found, `"1e1000"`):
		return true
	}
	return false
}

// checked are the places of a pod that the API server alone must never reject: the converter checks them. A service counts as one
// such place, and so does anything that is not valid JSON of a pod.
var checked = regexp.MustCompile(`^(metadata\.(name|labels|annotations|finalizers(\[\])?)` +
	`|spec\.(restartPolicy|nodeSelector|serviceAccountName|activeDeadlineSeconds|dnsPolicy|hostname|subdomain|nodeName|ephemeralContainers)` +
	`|spec\.tolerations\[\]\.(key|effect)` +
	`|spec\.topologySpreadConstraints\[\]\.(maxSkew|topologyKey|whenUnsatisfiable)` +
	`|spec\.affinity\.(.*\.weight|.*\.topologyKey|nodeAffinity\..*\.(nodeSelectorTerms|operator))` +
	`|spec\.securityContext\.(runAsUser|runAsGroup|fsGroup|supplementalGroups\[\]|seccompProfile\.type|appArmorProfile\.type)` +
	`|spec\.volumes\[\]\.(` + checkedOfVolumes + `)` +
	`|spec\.(initContainers|containers)\[\](|\.(` + checkedOfContainers + `)))$`)

const (
	checkedOfVolumes = `name|persistentVolumeClaim\.claimName|emptyDir\.sizeLimit|hostPath\.type|nfs\.(server|path)` +
		`|(configMap|projected\.sources\[\]\.(configMap|secret))\.name|secret\.secretName` +
		`|(configMap|secret|downwardAPI|projected)\.defaultMode|.*(configMap|secret)\.items\[\]\.(key|mode)|.*downwardAPI\.mode` +
		`|projected\.sources\[\]\.serviceAccountToken\.expirationSeconds|ephemeral\.volumeClaimTemplate(\.spec)?`
	checkedOfContainers = `name|image|imagePullPolicy|terminationMessagePolicy|ports|ports\[\]\.(name|containerPort|protocol)` +
		`|env\[\]\.name|env\[\]\.valueFrom\.(configMapKeyRef|secretKeyRef)\.(name|key)|envFrom\[\]\.(configMapRef|secretRef)\.name` +
		`|volumeMounts|volumeMounts\[\]\.(name|mountPath|subPathExpr)|volumeMounts\.(subPath|subPathExpr)` +
		`|securityContext\.(runAsUser|runAsGroup|seccompProfile\.type|appArmorProfile\.type)` +
		`|(liveness|readiness|startup)Probe\.(initialDelay|timeout|period)Seconds|(liveness|readiness|startup)Probe\.failureThreshold` +
		`|((liveness|readiness|startup)Probe|lifecycle\.(postStart|preStop))\.(exec|httpGet|tcpSocket|grpc|exec\.command|httpGet\.(port|scheme)|(tcpSocket|grpc)\.port)`
)

// isLeftToServer reports whether only the API server rejects this: by its rules for other places of a spec than the checked ones, which
// are many and differ between its versions, or because of what a cluster has of priority and runtime classes, which the converter does
// not know. FailedCreatePod events report these to the user. A mount of a rejected volume is rejected too, so checked places may be
// among the causes.
func isLeftToServer(f finding) bool {
	if f.resource != "pods" {
		return false
	}
	if code := f.refusal.ErrStatus.Code; code == 403 || code == 500 {
		return true
	}
	others := 0
	for _, c := range f.causes() {
		at := anyItem.ReplaceAllString(c.Field, "[]")
		if checked.MatchString(at) {
			continue
		}
		if !strings.HasPrefix(at, "spec") {
			return false
		}
		others++
	}
	return f.refusal.ErrStatus.Code == 422 && others > 0
}

var anyItem = regexp.MustCompile(`\[[^\]]*\]`)
