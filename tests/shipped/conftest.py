"""What importing tool files leaves in this process is taken back."""

from tests.folder_tools.conftest import same_modules

__all__ = ["same_modules"]
