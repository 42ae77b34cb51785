"""The papers' tables and figures as functions; nothing here is imported by the line from plan to release."""
