package history

// ProbeWorkflow is the type of the workflow of Weft's synthetic update, which shows that a
// deployment works. Its runs have no row in the list, and are kept for a day at most.
const ProbeWorkflow = "weft.probe"
