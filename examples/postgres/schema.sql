CREATE TABLE IF NOT EXISTS log (
  workflow  bytea  NOT NULL,
  run       bigint NOT NULL,
  slot      bigint NOT NULL,
  commit_id bytea  NOT NULL,
  body      bytea  NOT NULL,
  expires   bigint,          -- NULL is never
  summary   bytea,           -- NULL if the commit changes nothing in the list
  PRIMARY KEY (workflow, run, slot)
);
CREATE INDEX IF NOT EXISTS log_expires ON log (expires) WHERE expires IS NOT NULL;

CREATE TABLE IF NOT EXISTS runs (
  workflow bytea  NOT NULL,
  run      bigint NOT NULL,
  started  bigint NOT NULL,
  summary  bytea  NOT NULL,
  PRIMARY KEY (workflow, run)
);
CREATE INDEX IF NOT EXISTS runs_started ON runs (started DESC, workflow, run);

CREATE TABLE IF NOT EXISTS attempts (
  workflow bytea  NOT NULL,
  run      bigint NOT NULL,
  event    bigint NOT NULL,
  run_id   bytea  NOT NULL,
  number   bigint NOT NULL,
  body     bytea  NOT NULL,
  expires  bigint,
  PRIMARY KEY (workflow, run, event)
);

CREATE TABLE IF NOT EXISTS timers (
  due  bigint NOT NULL,
  id   bytea  NOT NULL,
  body bytea  NOT NULL,
  PRIMARY KEY (due, id)
);

CREATE TABLE IF NOT EXISTS marks (
  name  text  PRIMARY KEY,
  value bytea NOT NULL
);

CREATE TABLE IF NOT EXISTS rates (
  task_queue bytea  PRIMARY KEY,
  mark       bigint NOT NULL
);

CREATE TABLE IF NOT EXISTS messages (
  id       bigserial PRIMARY KEY, -- the order of a FIFO queue
  queue    text   NOT NULL,
  grp      bytea,                 -- NULL in a standard queue
  body     bytea  NOT NULL,
  visible  bigint NOT NULL,       -- from when it may be received: later than now, it is delayed or in flight
  received bigint NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS messages_visible ON messages (queue, visible, id);
CREATE INDEX IF NOT EXISTS messages_group ON messages (queue, grp, visible) WHERE grp IS NOT NULL;
