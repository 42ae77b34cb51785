"""From an estimated budget to a released contaminated posterior: plan, release, certificate, files."""
