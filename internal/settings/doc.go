// Package settings declares what operators set: each setting once, as a field of a struct.
//
//	Function   a Lambda function: variables, which infra/sam and infra/terraform give it
//	Server     a local server: flags, and variables
//
// A field's type says which values are allowed. Its tag says the rest:
//
//	env          the variable
//	help         the text for the help of a command, both infrastructures and docs/settings.md
//	unset        the default, as an operator would write it
//	name         the flag, if it is not the field's name with hyphens
//	placeholder  the name of the value in the help
//	enum         the allowed values; the first is the default
//	required     that it must be set
//	most         the largest number or duration
//	parameter    the parameter of the template; that of the module is the same in small letters
//	fallback     what an empty parameter gives: name, that of the deployment; preset, what the preset of
//	             Concurrency says
//	pattern      what the value of the parameter matches
//	wrong        the module's error for any other value
//	reader       what reads it instead of Read
//	given        how the functions get it, if no parameter is passed to all of them
//
// kong reads Server, and Read reads Function. Tests write infra/sam, infra/terraform/settings.tf
// and docs/settings.md from the declarations, and check everything that the documents name against
// them: go test ./infra -run TestSettings -tables.
package settings
