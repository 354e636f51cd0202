package check

// Types are the types of testdata/cases.json, for tests of another package.
var Types = types
