// Requests about schedules.
import type { components } from "./schema.js";
import { type Answer, at, get, post, remove } from "./http.js";

type Schemas = components["schemas"];

export type Schedule = Schemas["Schedule"];
export type ScheduleSummary = Schemas["ScheduleSummary"];
export type ScheduleDescription = Schemas["ScheduleDescription"];
export type ScheduledRun = Schemas["ScheduledRun"];
export type OverlapPolicy = Schemas["OverlapPolicy"];

/** Reads a page of schedules, those created last first. */
export function listSchedules(pageToken: string | undefined, abort?: AbortSignal): Promise<Schemas["ScheduleListResponse"]> {
  return get("schedules", { pageToken }, abort);
}

/** Describes a schedule: what it starts, its next moments, and its runs. */
export function describeSchedule(id: string, abort?: AbortSignal): Promise<ScheduleDescription> {
  return get(at`schedules/${id}`, {}, abort);
}

/** Creates a schedule. */
export function createSchedule(scheduleId: string, schedule: Schedule, requestId: string): Promise<Answer<Schemas["CreateScheduleResponse"]>> {
  return post("schedules", { scheduleId, schedule, requestId });
}

/** Replaces what a schedule does. */
export function updateSchedule(id: string, schedule: Schedule, requestId: string): Promise<Answer<unknown>> {
  return post(at`schedules/${id}/update`, { schedule, requestId });
}

/** Pauses a schedule, or lets it go on. */
export function pauseSchedule(id: string, pause: boolean, note: string | undefined, requestId: string): Promise<Answer<unknown>> {
  return post(at`schedules/${id}/${pause ? "pause" : "unpause"}`, { note, requestId });
}

/** Starts a run of a schedule now. */
export function triggerSchedule(id: string, overlapPolicy: OverlapPolicy | undefined, requestId: string): Promise<Answer<unknown>> {
  return post(at`schedules/${id}/trigger`, { overlapPolicy, requestId });
}

/** Starts the runs of the moments in a period. */
export function backfillSchedule(id: string, body: Schemas["BackfillScheduleRequest"]): Promise<Answer<unknown>> {
  return post(at`schedules/${id}/backfill`, body);
}

/** Deletes a schedule. */
export function deleteSchedule(id: string): Promise<Answer<unknown>> {
  return remove(at`schedules/${id}`);
}
