"""Alembic's environment: the connection is handed over by `gibbsafe.service.store.Store.migrate`."""

from alembic import context

from gibbsafe.service.tables import metadata


def run() -> None:
    """Run the migrations on the connection that was handed over."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=metadata, version_table="desk_version")
    with context.begin_transaction():
        context.run_migrations()


if getattr(context, "_proxy", None) is not None:  # Alembic runs this file; whoever imports it runs nothing
    run()
