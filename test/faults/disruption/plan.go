package disruption

import "context"

// Env is what plans need of the machine.
type Env struct {
	Operator string // the operator's program
	Root     string // the checkout: control planes are built from its folder localcluster, fixtures are in test/
	Log      func(format string, values ...any)
	// Busy says that the machine may have other work: a limit is at least busyLimit.
	Busy bool

	crds    string   // the folder of the kinds' CRDs; "" for those that are shipped
	webhook *webhook // that converts TFJobs; nil where they have one version
}

// Plan is one disruption. Run returns a defect of the operator, or why the plan could not be carried out.
type Plan struct {
	Name, Goal string
	Run        func(context.Context, Env) error
}

// Plans returns all disruptions, the quickest first. Equal seeds give equal plans.
func Plans(seed uint64) []Plan {
	return []Plan{
		{"status subresource missing, then added", "G15", statusAdded},
		{"store rewound by 1000 revisions", "G16", rewound{1_000}.run},
		{"versions flipped", "G15", flipped{"v2"}.run},
		{"conversion webhook dead", "G15", conversionDead},
		converted(Plan{"status subresource missing, then added", "G15", statusAdded}),
		converted(Plan{"versions flipped", "G15", flipped{converting}.run}),
		converted(Plan{"webhook killed, then started", "G15", conversionKilled}),
		{"store rewound by 10000 revisions", "G16", rewound{10_000}.run},
		{"every set of CRDs at start", "G15", everySet},
		{"CRD deleted and recreated 20 times", "G15", recreatedCRD{seed, 20}.run},
		converted(Plan{"every set of CRDs at start", "G15", everySet}),
		converted(Plan{"CRD deleted and recreated 20 times", "G15", recreatedCRD{seed, 20}.run}),
	}
}
