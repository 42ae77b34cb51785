"""Plan × data → release: draw, certificate, files, verification, signatures."""

from gibbsafe.release.certificate import Certificate
from gibbsafe.release.draw import Ledger, release
from gibbsafe.release.releases import Release
from gibbsafe.release.verification import verify

__all__ = ["Certificate", "Ledger", "Release", "release", "verify"]
