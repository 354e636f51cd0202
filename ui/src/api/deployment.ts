// Requests about the deployment: its program, its queues and its builds.
import type { components } from "./schema.js";
import { unknownPath, withFeature } from "./features.js";
import { type Answer, at, get, post } from "./http.js";

type Schemas = components["schemas"];

export type Deployment = Schemas["DeploymentResponse"];
export type Types = Schemas["TypeListResponse"];
export type Builds = Schemas["BuildListResponse"];
export type Queue = Schemas["QueueSummary"];
export type DeadLetter = Schemas["DeadLetter"];

/** Describes the deployment. */
export function readDeployment(abort?: AbortSignal): Promise<Deployment> {
  return get("deployment", {}, abort);
}

let local: Promise<boolean> | undefined;

/** Reports whether the server is a local one, which reads its own disk. It is asked once; a server that does not say it is none. */
export function isLocal(): Promise<boolean> {
  local ??= readDeployment().then(
    (d) => d.namespace === undefined,
    () => {
      local = undefined;
      return false;
    },
  );
  return local;
}

/** Lists the types that the program has registered. Undefined: the server cannot say them. */
export function types(abort?: AbortSignal): Promise<Types | undefined> {
  return withFeature<Types | undefined>("types", () => get("types", undefined, abort), () => Promise.resolve(undefined), unknownPath);
}

/** Reads the queues with what they hold. */
export async function readQueues(abort?: AbortSignal): Promise<Queue[]> {
  return (await get<Schemas["QueueListResponse"]>("queues", {}, abort)).queues;
}

/** Moves the dead letters of a queue back to it. */
export function redrive(queue: string): Promise<Answer<Schemas["RedriveResponse"]>> {
  return post(at`queues/${queue}/redrive`);
}

/** Reads a page of the builds. */
export function readBuilds(pageToken: string | undefined, abort?: AbortSignal): Promise<Builds> {
  return get("builds", { pageToken }, abort);
}
