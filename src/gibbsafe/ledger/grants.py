"""PostgreSQL roles and triggers: who may open, append and read, and what not even they can write.

The triggers repeat, inside the database, what every charge checks outside it: an entry follows the head and its hash fits, the
counter goes up by one, the sums grow by exactly the cost that the entry states and never pass the caps, and nothing else of an
account ever changes. They bind every role but the tables' owner and superusers, who can drop them: the anchor is for those.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gibbsafe._validate import fail
from gibbsafe.errors import GibbsafeError

if TYPE_CHECKING:
    from gibbsafe.ledger.database import Database

__all__ = ["apply_grants", "grants_sql"]

ROLES = ("owner", "charger", "auditor")

TEMPLATE = """-- gibbsafe ledger grants: run as the owner of the tables, or a superuser. It may be run again.
BEGIN;
{tables}
{roles}

REVOKE ALL ON gibbsafe_accounts, gibbsafe_entries FROM PUBLIC, {owner}, {charger}, {auditor};
GRANT SELECT ON gibbsafe_accounts, gibbsafe_entries TO {owner}, {charger}, {auditor};
GRANT INSERT ON gibbsafe_entries TO {owner}, {charger};
GRANT INSERT ON gibbsafe_accounts TO {owner};
GRANT UPDATE (spent_main, spent_slack, spent_failure, entries, head) ON gibbsafe_accounts TO {owner}, {charger};

-- An account begins empty, and changes only by the entry that was appended last.
CREATE OR REPLACE FUNCTION gibbsafe_guard_account() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $guard$
DECLARE
  added gibbsafe_entries%ROWTYPE;
  cost json;
  caps json;
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.entries <> 0 OR NEW.head <> repeat('0', 64)
       OR (NEW.spent_main, NEW.spent_slack, NEW.spent_failure) <> ('0', '0', '0') THEN
      RAISE EXCEPTION 'gibbsafe: an account begins with no entries and nothing spent';
    END IF;
    RETURN NEW;
  END IF;
  IF (NEW.name, NEW.format, NEW.opening) IS DISTINCT FROM (OLD.name, OLD.format, OLD.opening) THEN
    RAISE EXCEPTION 'gibbsafe: name, format and opening of an account never change';
  END IF;
  SELECT * INTO added FROM gibbsafe_entries WHERE account = OLD.name AND number = OLD.entries;
  IF NOT FOUND OR NEW.entries <> OLD.entries + 1 OR NEW.head <> added.hash OR added.previous <> OLD.head THEN
    RAISE EXCEPTION 'gibbsafe: an account changes only by the entry that follows its head';
  END IF;
  cost := CASE WHEN added.kind IN ('charge', 'spend') THEN added.body::json -> 'cost'
               ELSE '{{"main": "0", "slack": "0", "failure": "0"}}'::json END;
  caps := OLD.opening::json -> 'caps';
  IF (cost ->> 'main')::numeric < 0 OR (cost ->> 'slack')::numeric < 0 OR (cost ->> 'failure')::numeric < 0
     OR NEW.spent_main::numeric <> OLD.spent_main::numeric + (cost ->> 'main')::numeric
     OR NEW.spent_slack::numeric <> OLD.spent_slack::numeric + (cost ->> 'slack')::numeric
     OR NEW.spent_failure::numeric <> OLD.spent_failure::numeric + (cost ->> 'failure')::numeric THEN
    RAISE EXCEPTION 'gibbsafe: sums only grow, by what the entry costs';
  END IF;
  IF NEW.spent_main::numeric > (caps ->> 'main')::numeric OR NEW.spent_slack::numeric > (caps ->> 'slack')::numeric
     OR NEW.spent_failure::numeric > (caps ->> 'failure')::numeric THEN
    RAISE EXCEPTION 'gibbsafe: a cap would be passed';
  END IF;
  RETURN NEW;
END $guard$;

-- An entry follows the head of its account, and its hash fits.
CREATE OR REPLACE FUNCTION gibbsafe_guard_entry() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $guard$
DECLARE
  place gibbsafe_accounts%ROWTYPE;
  said json := NEW.body::json;
BEGIN
  SELECT * INTO place FROM gibbsafe_accounts WHERE name = NEW.account FOR UPDATE;
  IF NOT FOUND OR NEW.number <> place.entries OR NEW.previous <> place.head
     OR NEW.hash <> encode(sha256(convert_to(NEW.previous || NEW.body, 'UTF8')), 'hex') THEN
    RAISE EXCEPTION 'gibbsafe: an entry follows the head of its account, and its hash must fit';
  END IF;
  IF (said ->> 'account', said ->> 'number', said ->> 'kind', said ->> 'key')
     IS DISTINCT FROM (NEW.account::text, NEW.number::text, NEW.kind::text, NEW.key::text) THEN
    RAISE EXCEPTION 'gibbsafe: an entry is what its text says';
  END IF;
  IF (NEW.kind = 'opening') <> (NEW.number = 0) OR NEW.kind NOT IN ('opening', 'charge', 'spend', 'release')
     OR (NEW.kind IN ('charge', 'spend')) <> (NEW.key IS NOT NULL) THEN
    RAISE EXCEPTION 'gibbsafe: an entry of an unknown kind';
  END IF;
  RETURN NEW;
END $guard$;

-- At the end of a transaction its account counts it.
CREATE OR REPLACE FUNCTION gibbsafe_guard_count() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $guard$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM gibbsafe_accounts WHERE name = NEW.account AND entries > NEW.number) THEN
    RAISE EXCEPTION 'gibbsafe: an entry was appended that its account does not count';
  END IF;
  RETURN NULL;
END $guard$;

CREATE OR REPLACE FUNCTION gibbsafe_refuse() RETURNS trigger LANGUAGE plpgsql AS $guard$
BEGIN
  RAISE EXCEPTION 'gibbsafe: the journal is only ever appended to';
END $guard$;

CREATE OR REPLACE TRIGGER gibbsafe_account BEFORE INSERT OR UPDATE ON gibbsafe_accounts
  FOR EACH ROW EXECUTE FUNCTION gibbsafe_guard_account();
CREATE OR REPLACE TRIGGER gibbsafe_entry BEFORE INSERT ON gibbsafe_entries
  FOR EACH ROW EXECUTE FUNCTION gibbsafe_guard_entry();
DROP TRIGGER IF EXISTS gibbsafe_count ON gibbsafe_entries;
CREATE CONSTRAINT TRIGGER gibbsafe_count AFTER INSERT ON gibbsafe_entries
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION gibbsafe_guard_count();
CREATE OR REPLACE TRIGGER gibbsafe_entry_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON gibbsafe_entries
  FOR EACH STATEMENT EXECUTE FUNCTION gibbsafe_refuse();
CREATE OR REPLACE TRIGGER gibbsafe_account_stays BEFORE DELETE OR TRUNCATE ON gibbsafe_accounts
  FOR EACH STATEMENT EXECUTE FUNCTION gibbsafe_refuse();
COMMIT;
"""

ROLE = """DO $role$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{role}') THEN CREATE ROLE {role} NOLOGIN; END IF;
END $role$;"""


def grants_sql(prefix: str = "gibbsafe") -> str:
    """Return the SQL that makes tables, roles ``PREFIX_owner``, ``_charger`` and ``_auditor``, grants and triggers.

    Owner opens accounts, charger appends to them, auditor reads. Grant a login one of them: ``GRANT gibbsafe_charger TO ana``.
    """
    from sqlalchemy.dialects import postgresql
    from sqlalchemy.schema import CreateTable

    from gibbsafe.ledger.tables import metadata

    if not re.fullmatch("[a-z][a-z0-9_]{0,40}", prefix):
        fail("prefix", prefix, "1 to 41 lower-case letters, digits or _, a letter first")
    names = {role: f"{prefix}_{role}" for role in ROLES}
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    tables = [
        str(CreateTable(table, if_not_exists=True).compile(dialect=dialect)).strip().replace("\t", "  ") + ";"
        for table in metadata.sorted_tables
    ]
    roles = [ROLE.format(role=role) for role in names.values()]
    return TEMPLATE.format(tables="\n".join(tables), roles="\n".join(roles), **names)


def apply_grants(database: Database, prefix: str = "gibbsafe") -> None:
    """Carry out `grants_sql` in a PostgreSQL database, all of it or nothing."""
    if database._path is not None:
        raise GibbsafeError(f"ledger {database}: a SQLite file has no roles; whoever may write the file may write anything in it")
    script = grants_sql(prefix).replace("BEGIN;\n", "", 1).removesuffix("COMMIT;\n")
    with database._reported(), database._engine("BEGIN IMMEDIATE").begin() as connection:
        connection.connection.cursor().execute(script)  # the driver's own, which takes many statements at once
