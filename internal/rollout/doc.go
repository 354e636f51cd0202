// Package rollout moves the traffic of a deployment's functions to versions of another build, with
// CodeDeploy, and back if one of them fails.
//
//	ListDeploymentGroups      which functions there are
//	GetAlias, ListVersions    from which version each moves, and to which
//	GetDeploymentGroup        which of them an earlier run has moved
//	CreateDeployment          one for each function, at the same moment
//	GetDeployment             until all have ended
//
// If one does not succeed, the others are stopped, and each alias goes back to the version that it
// had. CodeDeploy keeps the state: whoever runs it again follows the deployments that run.
package rollout
