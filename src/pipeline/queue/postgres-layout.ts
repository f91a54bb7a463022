/** The number of what follows: a schema with another one is of another version of this program. */
export const layout = 1

/** Names of schemas come from this program only, and need no quoting beyond this. */
const q = (namespace: string) => `"${namespace}"`

/**
 * Takes a lock, so that one of many who start at once makes the tables, and the others find them. All of it is one
 * transaction.
 * @param namespace the schema
 */
export function layoutStatements(namespace: string): readonly string[] {
  const schema = q(namespace)
  return [
    `SELECT pg_advisory_xact_lock(hashtext('modelgate'), hashtext('${namespace}'))`,
    `CREATE SCHEMA IF NOT EXISTS ${schema}`,
    `CREATE TABLE IF NOT EXISTS ${schema}.store (
      one boolean PRIMARY KEY DEFAULT true CHECK (one),
      identity uuid NOT NULL DEFAULT gen_random_uuid(),
      layout integer NOT NULL
    )`,
    // A document that many change leaves room for its next version on the same page, so that no index is touched.
    `CREATE TABLE IF NOT EXISTS ${schema}.documents (
      name text COLLATE "C" PRIMARY KEY,
      version bigint NOT NULL,
      value text NOT NULL,
      expires_at timestamptz
    ) WITH (fillfactor = 70)`,
    `CREATE INDEX IF NOT EXISTS documents_expiring ON ${schema}.documents (expires_at) WHERE expires_at IS NOT NULL`,
    lockFunction(schema),
    writeFunction(schema),
    `INSERT INTO ${schema}.store (layout) VALUES (${layout}) ON CONFLICT DO NOTHING`,
  ]
}

/**
 * Locks what there is of names until the end of the transaction, and returns it. Names of which there is nothing are
 * inserted, without a value: whoever wants the same name waits. All names are in one order, so that no two transactions
 * wait for each other.
 */
function lockFunction(schema: string): string {
  return `CREATE OR REPLACE FUNCTION ${schema}.lock(read_names text[])
  RETURNS SETOF ${schema}.documents LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO ${schema}.documents (name, version, value)
      SELECT r.name, pg_current_xact_id()::text::bigint, '' FROM unnest(read_names) AS r(name)
      WHERE NOT EXISTS (SELECT FROM ${schema}.documents AS d WHERE d.name = r.name) ORDER BY r.name COLLATE "C"
      ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT * FROM ${schema}.documents AS d WHERE d.name = ANY (read_names) ORDER BY d.name FOR UPDATE;
  END $$`
}

/**
 * Writes documents if all that were read have the versions that were read: in one call, so that no lock is held while
 * anything goes over the network. Names of which there is nothing are inserted first: whoever wants the same name waits.
 * All names are in one order, so that no two calls wait for each other.
 *
 * Returns 0 when written, 1 after a conflict (nothing is written), 2 where the identity is another one.
 */
function writeFunction(schema: string): string {
  return `CREATE OR REPLACE FUNCTION ${schema}.write(
    expected_identity uuid,
    read_names text[], read_versions bigint[],
    written_names text[], written_values text[], lifetimes_ms bigint[],
    removed_names text[],
    channel text, messages text[]
  ) RETURNS integer LANGUAGE plpgsql AS $$
  DECLARE
    stamp bigint := pg_current_xact_id()::text::bigint;
    same bigint;
  BEGIN
    PERFORM FROM ${schema}.store WHERE identity = expected_identity;
    IF NOT FOUND THEN RETURN 2; END IF;

    INSERT INTO ${schema}.documents (name, version, value)
      SELECT r.name, stamp, '' FROM unnest(read_names, read_versions) AS r(name, version)
      WHERE r.version IS NULL ORDER BY r.name COLLATE "C"
      ON CONFLICT DO NOTHING;

    SELECT count(*) INTO same
      FROM (
        SELECT d.name, d.version FROM ${schema}.documents AS d
        WHERE d.name = ANY (read_names) ORDER BY d.name FOR UPDATE
      ) AS found
      JOIN unnest(read_names, read_versions) AS r(name, version) ON found.name = r.name
      WHERE found.version = coalesce(r.version, stamp);

    IF same < cardinality(read_names) THEN
      DELETE FROM ${schema}.documents WHERE name = ANY (read_names) AND version = stamp;
      RETURN 1;
    END IF;

    UPDATE ${schema}.documents AS d
      SET version = stamp, value = w.value,
        expires_at = clock_timestamp() + w.lifetime * interval '1 millisecond'
      FROM unnest(written_names, written_values, lifetimes_ms) AS w(name, value, lifetime)
      WHERE d.name = w.name;
    DELETE FROM ${schema}.documents WHERE name = ANY (removed_names);
    PERFORM pg_notify(channel, m.message) FROM unnest(messages) AS m(message);
    RETURN 0;
  END $$`
}

/**
 * What there is of names, expired documents as versions without a value: $1 the names. One row at least.
 * @param isLocked until the end of the transaction
 */
export function readStatement(namespace: string, { isLocked }: { readonly isLocked: boolean }): string {
  const schema = q(namespace)
  const found = isLocked
    ? `${schema}.lock($1::text[]) AS d ON true`
    : `${schema}.documents AS d ON d.name = ANY ($1::text[])`
  return `SELECT store.identity, floor(extract(epoch FROM clock_timestamp()) * 1000)::text AS now,
      d.name, d.version::text AS version, CASE WHEN d.value = '' OR d.expires_at <= clock_timestamp() THEN NULL ELSE d.value END AS value
    FROM ${schema}.store LEFT JOIN ${found}`
}

export function writeStatement(namespace: string): string {
  return `SELECT ${q(namespace)}.write($1::uuid, $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8, $9::text[]) AS outcome`
}

/** Removes some that have expired. */
export function cleaningStatement(namespace: string): string {
  const documents = `${q(namespace)}.documents`
  return `DELETE FROM ${documents} WHERE name IN (
    SELECT name FROM ${documents} WHERE expires_at <= clock_timestamp() LIMIT 500 FOR UPDATE SKIP LOCKED)`
}

/** The identity and the layout, where there are any. */
export function storeStatement(namespace: string): string {
  return `SELECT identity, layout FROM ${q(namespace)}.store`
}

/** What decides whether a commit is kept: one row. */
export const settingsStatement = `SELECT current_setting('server_version_num')::int AS version,
  current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS "synchronousCommit",
  pg_is_in_recovery() AS "isStandby", current_setting('default_transaction_read_only') AS "readOnly"`
